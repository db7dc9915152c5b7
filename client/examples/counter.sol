// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

contract Counter {
    uint256 public count;

    event Counted(address indexed by, uint256 count);

    function add(uint256 amount) external {
        require(amount > 0, "nothing to add");
        count += amount;
        emit Counted(msg.sender, count);
    }
}
